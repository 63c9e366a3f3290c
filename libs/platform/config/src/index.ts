export * from './data-directory.js';
export * from './parse-settings.js';
export * from './running-app.js';
export { renderEnvExample, Settings, SETTINGS, type SettingValues } from './settings.js';
export { type GroupRole, isConfidential } from './setting-kinds.js';
