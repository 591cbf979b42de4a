// The rules of the counting world, as pure functions of a state, defined by the package's own entry.

import { defineTask } from "/pkg/participant.js";

const pressed = ({ buttons }, name) => buttons.some(({ id, down }) => id === name && down);

defineTask({
  schemas: {
    context: { id: "counter.context", version: 1 },
    progress: { id: "counter.progress", version: 1 },
  },
  bootstrap: ({ inspection, bindings }) => ({
    contexts: Object.fromEntries(bindings.map(({ agentId }) => [agentId, { transitions: 0 }])),
    progress: { counter: inspection.counter, transitions: 0 },
    state: { transitions: 0 },
  }),
  evaluate({ state, newInspection, controls, bindings }) {
    const transitions = state.transitions + 1;
    const outcomes = {};
    const events = [];
    for (const { agentId, portId } of bindings) {
      const control = controls.find((candidate) => candidate.portId === portId);
      const value = Number(pressed(control, "inc")) - Number(pressed(control, "dec"));
      const sparks = value !== 0 && newInspection.counter % 5 === 0;
      outcomes[agentId] = {
        rewards: [{ event: events.length, ruleId: "counter-delta", value }],
        stimuli: sparks ? [{ kindId: "spark", durationMs: 20 }] : [],
      };
      events.push({ kindId: "counter-delta", agentId });
    }
    return {
      outcomes,
      events,
      contexts: Object.fromEntries(bindings.map(({ agentId }) => [agentId, { transitions }])),
      progress: { counter: newInspection.counter, transitions },
      state: { transitions },
    };
  },
});
