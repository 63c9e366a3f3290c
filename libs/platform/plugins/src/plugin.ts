import type { DynamicModule, Type } from '@nestjs/common';

/** The processes of an installation, and the daemon of a self-hosted worker. */
export const PLUGIN_PROCESSES = ['api', 'ingress', 'processor', 'worker'] as const;
export type PluginProcess = (typeof PLUGIN_PROCESSES)[number];

/** The role from which on a caller has a permission: every more powerful role has it too. */
export type LeastRole = 'admin' | 'member' | 'viewer';

export interface PluginMetadata {
  /** Unique within an installation: lower-case letters, digits and `-`, at most 40, beginning with a letter. */
  readonly name: string;
  /** Of the plugin, shown by `GET /health` and `headrace doctor`. */
  readonly version: string;
  /** The versions of Headrace that it works with, a range of semantic versions such as `^0.2`. */
  readonly headrace: string;
  /** The processes that load its module. Its migrations are applied whatever they are. */
  readonly processes: readonly PluginProcess[];
  /**
   * A directory with `migrations/<yyyy-mm-dd>-<content>.sql` and `functions/<name>.sql`, as a `file:` URL or an absolute path.
   * They run in the schema of the plugin, {@link pluginSchema}, and must not change anything outside of it.
   */
  readonly migrations?: URL | string;
  /** Permissions of its routes, such as `{ 'notes:manage': 'admin' }`, which a route names `<plugin>/notes:manage`. */
  readonly permissions?: Readonly<Record<string, LeastRole>>;
}

/** The module of a plugin. It may be another one in each process, such as routes in the API and tasks in the processor. */
export interface PluginModule extends Type {
  readonly forProcess?: (process: PluginProcess) => DynamicModule;
}

export const moduleFor = (module: PluginModule, process: PluginProcess): Type | DynamicModule =>
  module.forProcess ? module.forProcess(process) : module;

/** A plugin after its metadata was checked. */
export interface LoadedPlugin extends Omit<PluginMetadata, 'migrations'> {
  readonly module: PluginModule;
  /** Absolute path. */
  readonly migrations: string | null;
}

/** What `GET /health` and `headrace doctor` show of a plugin. */
export type PluginSummary = Pick<PluginMetadata, 'name' | 'version' | 'processes'>;

/** The PostgreSQL schema that belongs to a plugin: statements name its tables `plugin_release_notes.notes`. */
export const pluginSchema = (name: string): string => `plugin_${name.replaceAll('-', '_')}`;

const METADATA = Symbol.for('headrace:plugin');

/** Tells this copy of Headrace from another one that a plugin may have loaded by mistake. */
const COPY = Symbol('headrace:copy');

interface MarkedMetadata {
  readonly copy: symbol;
  readonly metadata: PluginMetadata;
}

/**
 * Marks the Nest module that is the default export of a package as a plugin. HEADRACE_PLUGINS names the packages that an
 * installation loads.
 *
 *   @Plugin({ name: 'acme-sign', version: '1.0.0', headrace: '^0.2', processes: ['api', 'ingress'] })
 *   @Module({ providers: [AcmeScheme] })
 *   export default class AcmeSignPlugin {}
 */
export const Plugin =
  (metadata: PluginMetadata): ClassDecorator =>
  (target) => {
    const marked: MarkedMetadata = { copy: COPY, metadata };
    Object.defineProperty(target, METADATA, { value: marked });
  };

export type PluginMark =
  | { readonly kind: 'plugin'; readonly metadata: PluginMetadata }
  /** Decorated with the `@Plugin()` of another copy of Headrace. */
  | { readonly kind: 'other_copy' }
  | { readonly kind: 'none' };

export function readPluginMark(value: unknown): PluginMark {
  if (typeof value !== 'function' || !Object.hasOwn(value, METADATA)) return { kind: 'none' };
  const { copy, metadata } = (value as unknown as Record<symbol, MarkedMetadata>)[METADATA] as MarkedMetadata;
  return copy === COPY ? { kind: 'plugin', metadata } : { kind: 'other_copy' };
}
