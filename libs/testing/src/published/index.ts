/**
 * What packages outside of the repository test with, published as `headrace/testing`. The conformance tests need Vitest, and
 * those of normalizers fast-check.
 */
export { type BackendUnderTest, backendConformance } from './backend-conformance.js';
export { ControlPlaneDouble, type SeenRequest } from './control-plane-double.js';
export { conversationNormalizerConformance } from './conversation-normalizer-conformance.js';
export { type ConformanceGaps, type ObjectStoreUnderTest, objectStoreConformance } from './object-store-conformance.js';
export { type SchemeUnderTest, signatureSchemeConformance } from './signature-scheme-conformance.js';
export type { TestRequest, TestResponse } from './send-request.js';
export {
  startTestHeadrace,
  type TestHeadrace,
  type TestHeadraceOptions,
  type TestHeadraceRequest,
} from './test-headrace.js';
export { until } from './until.js';
