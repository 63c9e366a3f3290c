import { Injectable } from '@nestjs/common';
import type { Backend } from '#execution/backends';
import { Settings, SettingsError } from '#platform/config';

/** All backends that this installation knows; the setting EXECUTOR names the one that executes hosted runs. */
@Injectable()
export class BackendRegistry {
  private readonly backends = new Map<string, () => Backend>();
  private created: Backend | null = null;

  constructor(private readonly settings: Settings) {}

  /** `create` is called at most once, and only when EXECUTOR names the backend. It may throw a SettingsError. */
  register(name: string, create: () => Backend): void {
    if (this.backends.has(name)) throw new Error(`The backend ${name} is registered twice.`);
    this.backends.set(name, create);
  }

  /** The backend that EXECUTOR names, looked up when it is used, because others register theirs while modules start. */
  get chosen(): Backend {
    return (this.created ??= this.create());
  }

  private create(): Backend {
    const name = this.settings.executor;
    const create = this.backends.get(name);
    if (create) return create();
    throw new SettingsError([`EXECUTOR must be one of ${[...this.backends.keys()].join(', ')}; it is ${name}.`]);
  }
}
