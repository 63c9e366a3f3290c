export * from './local-object-store.js';
export * from './object-disposal.js';
export * from './object-key.js';
export * from './object-store.js';
export { openConfiguredS3 } from './s3/open-configured-store.js';
export { ObjectStoreUnavailableError } from './s3/s3-error.js';
export * from './s3/s3-object-store.js';
export type { S3Limits, S3Place } from './s3/s3-sdk.js';
export * from './storage.module.js';
