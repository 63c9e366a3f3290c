export * from './edge/route-options.js';
export { configureHttp, httpAdapter, serveHttp } from './edge/configure-http.js';
export { RequestAuthenticator } from './edge/edge.js';
export { RequestSlot } from './edge/request-slot.js';
export { hasLargeJsonBody, isLargeBody, LARGE_BODIES, readJsonBody } from './edge/json-body.js';
export { headerText, requestStateOf, type RequestState } from './edge/request-state.js';
export { Listener, type ListenerOptions } from './edge/listener.js';
export { PageFiles } from './edge/page-files.js';
export { readForm } from './edge/read-form.js';
export { Readiness, type ReadinessReport } from './edge/readiness.js';
export { RejectionDelay } from './edge/rejection-delay.js';
export { CompiledRoutes } from './edge/compiled-routes.js';
export { API_PREFIX, type Route, RouteTable } from './edge/route-table.js';
export { SenderAddress, senderOf } from './edge/sender-address.js';
export { Shutdown } from './edge/shutdown.js';
export { type Upgrade, Upgrades } from './edge/upgrades.js';
export { listOf, type ListOptions, mapOf, type MapOptions, object } from './fields/composite-kinds.js';
export * from './fields/decorators.js';
export { field, type FieldOptions, type Kind, type Source, wrong } from './fields/field.js';
export { InputPipe, pathId } from './fields/input.pipe.js';
export { ignoreUnknownFields, optionalBody } from './fields/read-dto.js';
export * from './fields/scalar-kinds.js';
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
export { onceClosed } from './edge/once-closed.js';
export { LargeList } from './operations/large-list.js';
export { MemoryPermits, ResponseLimit } from './operations/response-limit.js';
export { sendStream } from './operations/send-stream.js';
export { Problem, PROBLEM_MEDIA_TYPE } from './problems/problem.dto.js';
export { ProblemError, type ProblemOptions } from './problems/problem-error.js';
export { ProblemWriter } from './problems/problem-writer.js';
export * from './problems/rejection-problem.js';
export { toProblemError } from './problems/to-problem-error.js';
