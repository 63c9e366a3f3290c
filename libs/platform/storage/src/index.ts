export { chunksOf } from './content.js';
export { limited } from './http/limited.js';
export { linkRefusal } from './http/link-refusal.js';
export { LocalObjectStore } from './local-object-store.js';
export { discardNamed, keepDiscarded, ObjectDisposal } from './object-disposal.js';
export * from './object-store.js';
export { SignedLinks } from './signed-links.js';
export { openConfiguredS3 } from './s3/open-configured-store.js';
export * from './storage.module.js';
