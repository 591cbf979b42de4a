/**
 * Participants of your own, in JavaScript: a world, an agent, the rules of the game. Each is a module whose address a
 * composition names:
 *
 * ```ts
 * createSession({
 *   mode: "worker",
 *   composition: {
 *     environment: { module: new URL("./my-world.js", import.meta.url) },
 *     agents: [{ agentId: "fly-a", portId: "p1", seed: 7, module: new URL("./my-agent.js", import.meta.url) }],
 *     task: { module: new URL("./my-task.js", import.meta.url) },
 *   },
 * });
 * ```
 *
 * The module calls {@link defineAgent}, {@link defineEnvironment} or {@link defineTask} once, or exports the same object by
 * default, in which case it need not import this package at all. Around it runs the protocol's runtime, the same one as
 * around participants in Rust: it checks every request, runs one operation at a time, and repeats answers instead of
 * work, so that the functions here only do the work. They may be asynchronous, except a task's.
 *
 * What a function throws ends the operation. An error with a `code` of the protocol keeps it, and its `mutation`
 * (`"none"`: nothing has changed); anything else is a `BACKEND_FAILURE` after which it is not known what has changed, and
 * ends the epoch.
 *
 * In mode `isolated` the module's text is handed into a frame without an origin: it must be one file, without imports of
 * its own, and the page's policy must allow scripts from `blob:`.
 */

import type {
  AgentDeclaration,
  CommittedAgent,
  InitializedAgent,
  TaskEvaluation,
  TaskSchemas,
  TaskStart,
  WorldDeclaration,
} from "#wasm/session";
import { leave } from "./participant-definition.ts";

export type {
  AgentDeclaration,
  CommittedAgent,
  DeclaredAspect,
  DeclaredAudience,
  DeclaredAudio,
  DeclaredAxis,
  DeclaredLearning,
  DeclaredPort,
  DeclaredRange,
  DeclaredTelemetry,
  DeclaredView,
  ExactNanoseconds,
  InitializedAgent,
  SchemaName,
  TaskEvaluation,
  TaskEventDraft,
  TaskOutcome,
  TaskRewardDraft,
  TaskSchemas,
  TaskStart,
  TaskStimulusDraft,
  WorldDeclaration,
} from "#wasm/session";
export { WellwrittenError } from "./wellwritten-error.ts";

/** A bounded JSON object, at most 32,768 bytes long. Its numbers are `number`s. */
export type JsonObject = { readonly [key: string]: unknown };

/** A value, or a promise of it. */
export type Eventually<T> = T | Promise<T>;

/** What every function is given last. */
export interface Context {
  /**
   * Says that a long operation gets on. A caller gives up on an operation that stands still, not on a slow one; it can only
   * ask while the function awaits something.
   */
  progress(): void;
}

/** Who a participant is to be. */
export interface ParticipantIdentity {
  readonly sessionId: string;
  readonly participantId: string;
  /** Of an agent: the port it drives. */
  readonly portId: string | null;
  /** Of an agent. */
  readonly seed: number | null;
  /** Of a world: every port of the composition, in its order. */
  readonly ports: readonly string[];
}

/** One frame as it is seen: RGBA8 from the top left, rows of `4 * width` bytes. */
export interface SeenFrame {
  /** The boundary at which it was shown. */
  readonly producedStep: bigint;
  readonly pixels: Uint8Array<ArrayBuffer>;
}

/** What an agent sees at a boundary. */
export interface AgentInput {
  readonly boundary: bigint;
  /** By view. */
  readonly views: { readonly [viewId: string]: SeenFrame };
  readonly structured: JsonObject | null;
}

export interface Stimulus {
  readonly id: string;
  readonly kindId: string;
  readonly durationMs: number;
}

export interface Reward {
  readonly eventId: string;
  readonly ruleId: string;
  readonly value: number;
}

/** Buttons and axes of one port, each in declared order. */
export interface PortControl {
  readonly portId: string;
  readonly buttons: readonly { readonly id: string; readonly down: boolean }[];
  readonly axes: readonly { readonly id: string; readonly value: number }[];
}

/** The functions of an agent. Boundaries, ticks and the retained context are kept for it and captured beside its bytes. */
export interface AgentHandlers {
  /** What it is; constant for one identity. */
  profile: AgentDeclaration | ((identity: ParticipantIdentity) => Eventually<AgentDeclaration>);
  /** Installs the input, warms up with learning disabled, then enables learning. */
  initialize(
    start: { agentId: string; seed: number; input: AgentInput; context: JsonObject },
    context: Context,
  ): Eventually<InitializedAgent>;
  /** Applies the stimuli in order, runs the ticks, and decides: a value of the decision schema. */
  prepare(
    step: { step: bigint; ticks: bigint; stimuli: readonly Stimulus[]; context: JsonObject },
    context: Context,
  ): Eventually<JsonObject>;
  /** Installs the input, applies the stimuli, reinforces once by the sum of the rewards. No tick. */
  commit(
    outcome: {
      step: bigint;
      input: AgentInput;
      stimuli: readonly Stimulus[];
      rewards: readonly Reward[];
      context: JsonObject;
    },
    context: Context,
  ): Eventually<AgentCommitted>;
  /** The whole state, as bytes; changes nothing. */
  capture(none: undefined, context: Context): Eventually<Uint8Array>;
  /** Checks a captured state wholly and keeps it aside; throws, having changed nothing, if it is none. */
  stageRestore(state: Uint8Array<ArrayBuffer>, context: Context): Eventually<void>;
  /** Becomes what was staged. */
  activateRestore(none: undefined, context: Context): Eventually<void>;
}

/** What a world shows. */
export interface WorldShown {
  /** RGBA8 of every declared view, at this boundary; frames whose delay is not over wait outside. */
  views: { readonly [viewId: string]: Uint8Array };
  /** What the task judges: a value of the inspection schema. */
  inspection: JsonObject;
  /** The engine's own name of the frame, for a person; at most 64 characters. */
  engineFrame?: string;
}

/** What a world shows, and sounds like, after a step. */
export interface WorldMoved extends WorldShown {
  /** Interleaved samples of every declared stream. */
  audio?: { readonly [streamId: string]: Float32Array };
  /** Bytes whose digest stands for the whole state in the trace, so that two runs can be held against each other. */
  state?: Uint8Array;
}

/** What an agent that committed gives. */
export interface AgentCommitted extends CommittedAgent {
  /** Bytes whose digest stands for the whole state in the trace, so that two runs can be held against each other. */
  state?: Uint8Array;
}

/** The functions of a world. Boundaries, world time, delays and sample positions are kept for it. */
export interface EnvironmentHandlers {
  /** What it is; constant for one identity. */
  descriptor: WorldDeclaration | ((identity: ParticipantIdentity) => Eventually<WorldDeclaration>);
  /** Sets the world up at boundary 0 and leaves it stopped. */
  initialize(
    start: {
      episodeId: string;
      portBindings: readonly { readonly portId: string; readonly agentId: string }[];
    },
    context: Context,
  ): Eventually<WorldShown>;
  /** Applies one complete batch, the ports in declared order, and moves by exactly one step. */
  advance(
    batch: { step: bigint; controls: readonly PortControl[] },
    context: Context,
  ): Eventually<WorldMoved>;
  /** The whole state, as bytes; changes nothing. */
  capture(none: undefined, context: Context): Eventually<Uint8Array>;
  /**
   * Checks a captured state wholly, keeps it aside and gives what it will show, which must be what it showed when it was
   * captured; throws, having changed nothing, if it is no state of this world.
   */
  stageRestore(state: Uint8Array<ArrayBuffer>, context: Context): Eventually<WorldShown>;
  /** Becomes what was staged, without moving. */
  activateRestore(none: undefined, context: Context): Eventually<void>;
}

/**
 * The rules of the game, as pure functions of a state of their own: it is handed in, and the next one is given back. What
 * is captured of a task, and the names of its events, are taken care of.
 */
export interface TaskHandlers {
  /** Schemas of contexts and progress. */
  schemas: TaskSchemas;
  /** Starts the game at boundary 0. */
  bootstrap(start: {
    inspection: JsonObject;
    bindings: readonly { readonly portId: string; readonly agentId: string }[];
  }): TaskStart;
  /** Judges the transition that began at boundary `step`. */
  evaluate(transition: {
    step: bigint;
    state: JsonObject;
    oldInspection: JsonObject;
    newInspection: JsonObject;
    controls: readonly PortControl[];
    bindings: readonly { readonly portId: string; readonly agentId: string }[];
  }): TaskEvaluation;
}

/** Defines the agent of this module. */
export function defineAgent(handlers: AgentHandlers): AgentHandlers {
  return leave("agent", handlers);
}

/** Defines the world of this module. */
export function defineEnvironment(handlers: EnvironmentHandlers): EnvironmentHandlers {
  return leave("environment", handlers);
}

/** Defines the task of this module. */
export function defineTask(handlers: TaskHandlers): TaskHandlers {
  return leave("task", handlers);
}
