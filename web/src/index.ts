/**
 * Wellwritten in a page: sessions in a worker, a guarded GPU device, the envelope codec and the inspector.
 *
 * Importing this module does nothing: no element is defined, no worker started, no wasm fetched.
 */

export type {
  Access,
  AgentEntry,
  BackendInfo,
  BrokenRule,
  CheckpointOptions,
  CompareOptions,
  Compatibility,
  CompatibilityDifference,
  CompatibilityField,
  CoordinatorEntry,
  DeviceCounters,
  DeviceLimits,
  DigestAlgorithm,
  EnvelopeLayout,
  EnvelopeRule,
  EnvironmentEntry,
  ExecutorEntry,
  FailureGraph,
  FaultInfo,
  FaultSpec,
  GenerationInfo,
  GuardedDeviceOptions,
  LayoutPart,
  LayoutRefusal,
  ListedGeneration,
  Manifest,
  OpenReport,
  PartKind,
  PartState,
  PayloadRow,
  Phase,
  PhaseEdge,
  PortBinding,
  RationalNs,
  RestoreOptions,
  RestoreReport,
  SaveOutcome,
  Scope,
  SessionBuffer,
  SessionConfig,
  SessionRunOptions,
  SessionStatus,
  StoreUsage,
  TaintSpan,
  TaintState,
  TraceDiff,
  TraceRecord,
  UnwrittenReport,
  VerifyReport,
  WebSessionEvent,
  WellwrittenErrorCode,
} from "#wasm";
export { define, openInspector } from "./define.ts";
export {
  compareCompatibility,
  type DecodedEnvelope,
  type DecodedPayload,
  decodeEnvelope,
  describeEnvelope,
  encodeEnvelope,
  phaseEdges,
} from "./envelope.ts";
export {
  createGuardedDevice,
  type DeviceEvents,
  type GuardedBuffer,
  type GuardedDevice,
  type HostKernel,
  type LaunchBinding,
  type Slice,
  type WgslKernel,
} from "./guarded-device.ts";
export type { PanelName, WellwrittenInspector } from "./inspector/wellwritten-inspector.ts";
export { type LoadOptions, loadWellwritten } from "./load-wellwritten.ts";
export { type JSONSchema, manifestSchema } from "./manifest-schema.ts";
export {
  createSession,
  type Session,
  type SessionEvents,
  type SessionOptions,
  type TaintRange,
} from "./session.ts";
export {
  type ContextOf,
  type ErrorCode,
  type ErrorContexts,
  type HostErrorCode,
  WellwrittenError,
} from "./wellwritten-error.ts";
