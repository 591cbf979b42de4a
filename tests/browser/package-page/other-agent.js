// As counter-agent.js, but for the value of an axis that moves nothing.

import agent from "./counter-agent.js";

export default {
  ...agent,
  async prepare(step) {
    const decision = await agent.prepare(step);
    return { ...decision, axes: [{ id: "bias", value: 0.5 }] };
  },
};
