/**
 * What plugins import, published as `headrace/plugin`. Its types follow semantic versioning; nothing else of the package does.
 */

// The plugin itself.
export {
  Extension,
  type LeastRole,
  Plugin,
  type PluginMetadata,
  type PluginProcess,
  pluginSchema,
  PluginVariables,
} from '#platform/plugins';

// Services of the API, the ingress and the processor. A worker has `Clock` and `PluginVariables`.
export { Settings } from '#platform/config';
export {
  Clock,
  identify,
  isSameProcess,
  type Issue,
  newUid,
  newUuid,
  type ProcessIdentity,
  type Rejection,
  type RejectionOf,
} from '#platform/kernel';
export { Database, type Queryable, type Statement, statement } from '#platform/persistence';
export {
  BackgroundTasks,
  definePluginTask as defineTask,
  type PeriodicTask,
  type TaskDefinition,
  type TaskRun,
} from '#platform/jobs';
export { Metrics } from '#platform/observability';

// Resources: routes, fields, permissions, problems.
export {
  Authorize,
  type Caller,
  CurrentCaller,
  isAllowed,
  type Owner,
  type PluginPermission,
  type Role,
} from '#platform/auth';
export {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntegerField,
  JsonField,
  MapField,
  NumberField,
  object,
  ObjectField,
  Operation,
  type OperationOptions,
  pathId,
  ProblemError,
  type ResourceWords,
  StringField,
  text,
  unwrap,
} from '#platform/http';
export { rejectTakenName } from '#platform/persistence';

// The factory of a path, for routes below `factories/:factoryUid`.
export { FactoriesModule, FactoriesService, type Factory, managedFactory } from '#domain/factories';

// Extension points of the webhook ingress and of automations.
export {
  type AcceptedDelivery,
  type AutomationResult,
  base64Key,
  decodeStrictly,
  DeliveryEvaluator,
  type HandshakeAnswer,
  hmac,
  type IncomingRequest,
  IngressAuthMode,
  isSameText,
  publicKey,
  RawHeaders,
  type SchemeRow,
  type SecretBringingHandshake,
  type SignableRequest,
  SignatureScheme,
  type SignedRequest,
  SignedScheme,
  verbatimKey,
  withTimeField,
  withTimeHeader,
} from '#domain/webhooks';
export {
  AutomationsModule,
  type CompiledTrigger,
  FireAutomations,
  type SampledEvent,
  type Trigger,
  type TriggerCheck,
  type TriggerEvent,
  type TriggerObstacle,
  TriggerProvider,
  type TriggerSample,
  type TriggerScope,
} from '#domain/automations';

// Extension points of runs and their conversations.
export { type RunChange, type RunState, RunStateListener } from '#execution/executions';
export {
  type ConversationProjection,
  ConversationNormalizer,
  type Step,
  type StoredProjection,
  type TranscriptFormat,
  TranscriptFormats,
} from '#domain/conversations';
export { type HarnessDefinition, type RunEvent, type RunnerHandover } from '#execution/runner-protocol';
export { Harness } from '#domain/agents';
export {
  ObjectStore,
  ObjectStoreUnavailableError,
  ObjectTooLargeError,
  type PutOptions,
  type SignedUrlOptions,
  type StoredObject,
} from '#platform/storage';

// Backends: where runners are started.
export {
  Backend,
  BackendFault,
  type BackendTask,
  clearExecution,
  type ExecutionRemains,
  type FoundTask,
  type RunnerPlace,
  type RunnerSignal,
  type RunningTask,
  runnerCommand,
  SetupFault,
  StartFault,
  startStopped,
  type TaskEnd,
  type TaskHandle,
} from '#execution/backends';
