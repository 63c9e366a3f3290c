export { Authenticated, Public, RequirePermission, RunnerProtocol, ACCESS, type Access } from './edge/access.js';
export { BodyLimit, DEFAULT_BODY_LIMIT, MIB, StreamedBody } from './edge/body-options.js';
export { configureHttp, finishHttp, httpAdapter, serveHttp } from './edge/configure-http.js';
export { requestStateOf, type RequestState } from './edge/request-state.js';
export { Listener, type ListenerOptions } from './edge/listener.js';
export { headerText } from './edge/observe.middleware.js';
export { PageFiles } from './edge/page-files.js';
export { Readiness, type ReadinessReport } from './edge/readiness.js';
export { RejectionDelay } from './edge/rejection-delay.js';
export { RequestAuthenticator } from './edge/request-authenticator.js';
export { API_PREFIX, OutsideApi, type Route, RouteTable } from './edge/route-table.js';
export { SenderAddress, senderOf } from './edge/sender-address.js';
export { Shutdown } from './edge/shutdown.js';
export { type Upgrade, Upgrades } from './edge/upgrades.js';
export { listOf, type ListOptions, mapOf, type MapOptions, object } from './fields/composite-kinds.js';
export * from './fields/decorators.js';
export { field, type FieldOptions } from './fields/field.js';
export { InputPipe } from './fields/input.pipe.js';
export { type Kind, type Source, wrong } from './fields/kind.js';
export { optionalBody } from './fields/read-dto.js';
export { pathId } from './fields/input.pipe.js';
export {
  boolean,
  dateTime,
  integer,
  json,
  number,
  oneOf,
  parseDateTime,
  type RangeOptions,
  text,
  type TextOptions,
} from './fields/scalar-kinds.js';
export { HttpModule } from './http.module.js';
export { HealthController } from './operational/health.controller.js';
export { buildDocument, type DocumentOptions } from './openapi/build-document.js';
export type { WebhookMessage } from './openapi/webhooks.js';
export { serveDocument } from './openapi/serve-document.js';
export {
  BEARER_SCHEME,
  type ErrorStatus,
  Operation,
  OPERATION,
  type OperationOptions,
  SHARED_ERRORS,
  TEAM_HEADER,
  TEAM_HEADER_ALIAS,
} from './operations/operation.decorator.js';
export { PageInfo, pageInfo } from './operations/page-info.dto.js';
export { Problem } from './problems/problem.dto.js';
export { ProblemError, type ProblemOptions } from './problems/problem-error.js';
export { PROBLEM_MEDIA_TYPE, ProblemWriter } from './problems/problem-writer.js';
export {
  forbidden,
  inaccessibleReferences,
  invalidCursor,
  invalidInput,
  limitReached,
  notFound,
  rejectionProblem,
  type ResourceProblems,
  type ResourceWords,
  teamRequired,
  tooLarge,
  unwrap,
} from './problems/rejection-problem.js';
export { toProblemError } from './problems/to-problem-error.js';
