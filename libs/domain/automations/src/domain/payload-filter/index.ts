export { evaluatePayloadFilter, type FilterVerdict } from './evaluate.js';
export { parsePayloadFilter, type ParsedFilter, type PayloadFilter } from './parse.js';
export { PAYLOAD_FILTER_SCHEMA } from './schema.js';
