export * from './data-dir.js';
export * from './env-example.js';
export * from './misspelt-settings.js';
export * from './parse-settings.js';
export * from './private-file.js';
export * from './running-app.js';
export * from './settings.js';
