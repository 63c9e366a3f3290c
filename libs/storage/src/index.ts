export * from './local-object-store.js';
export * from './object-key.js';
export * from './object-store.js';
export * from './storage.module.js';
export * from './storage-http.module.js';
