export { Extension, extensionsOf, hasExtension } from './extension.js';
export { loadPlugins, PluginError } from './load-plugins.js';
export { pluginExtends } from './module-rules.js';
export * from './plugin.js';
export { InstalledPlugins, PluginsModule, PluginVariables } from './plugins.module.js';
