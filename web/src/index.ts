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
  Compatibility,
  CompatibilityDifference,
  CompatibilityField,
  CoordinatorEntry,
  DeviceCounters,
  DeviceLimits,
  DigestAlgorithm,
  DoomedWindow,
  EnvelopeLayout,
  EnvelopeRule,
  EnvironmentEntry,
  ExceededLimit,
  ExecutorEntry,
  FailureGraph,
  GuardedDeviceOptions,
  LayoutPart,
  LayoutRefusal,
  Manifest,
  MemoryUsage,
  PartKind,
  PartState,
  PayloadRow,
  PortBinding,
  RationalNs,
  Scope,
  TaintSpan,
  TaintState,
  UnwrittenReport,
  WellwrittenErrorCode,
} from "#wasm/page";
export type {
  AdmissionRequest,
  Admitted,
  BehaviourDigest,
  CallBudgetsMs,
  CheckpointOptions,
  CompareOptions,
  DispatchOrder,
  ExecutionMode,
  FaultInfo,
  FaultSpec,
  GenerationInfo,
  OpenReport,
  OwnAgent,
  OwnComposition as Composition,
  OwnModule,
  Phase,
  PhaseEdge,
  Published,
  PublishedDescriptor,
  PublishedSnapshot,
  PublishedValue,
  ResetOptions,
  RestoreOptions,
  RestoreReport,
  SaveOutcome,
  SessionBuffer,
  SessionConfig,
  SessionRunOptions,
  SessionStatus,
  StoreAccess,
  StoreChange,
  StoredGeneration,
  StoreUsage,
  SubscriptionOptions,
  TraceDiff,
  TraceRecord,
  VerifyReport,
  WebSessionEvent,
} from "#wasm/session";
export { define, openInspector } from "./define.ts";
export {
  compareCompatibility,
  type DecodedEnvelope,
  type DecodedPayload,
  decodeEnvelope,
  describeEnvelope,
  encodeEnvelope,
} from "./envelope.ts";
export {
  createGuardedDevice,
  type DeviceEvents,
  type GuardedBuffer,
  type GuardedDevice,
  type HostKernel,
  type Kernel,
  type LaunchBinding,
  type SealedGraph,
  type Slice,
  type WgslKernel,
} from "./guarded-device.ts";
export type { PanelName, WellwrittenInspector } from "./inspector/wellwritten-inspector.ts";
export { loadWellwritten } from "./load-wellwritten.ts";
export { type JSONSchema, manifestSchema } from "./manifest-schema.ts";
export {
  createSession,
  type Session,
  type SessionEvents,
  type SessionOptions,
  type TaintRange,
} from "./session.ts";
export type { LoadOptions } from "./start-wasm.ts";
export { openStore, type Store, type StoreOptions } from "./store.ts";
export {
  type ContextOf,
  type ErrorCode,
  type ErrorContexts,
  type HostErrorCode,
  WellwrittenError,
} from "./wellwritten-error.ts";
