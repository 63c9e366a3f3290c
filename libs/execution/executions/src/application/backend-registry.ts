import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { Backend } from '#execution/backends';
import { Settings, SettingsError } from '#platform/config';
import { extensionsOf } from '#platform/plugins';

/** All backends that this installation knows; the setting EXECUTOR names the one that executes hosted runs. */
@Injectable()
export class BackendRegistry implements OnModuleInit {
  private readonly backends = new Map<string, () => Backend>();
  private created: Backend | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly discovery: DiscoveryService,
  ) {}

  onModuleInit(): void {
    for (const backend of extensionsOf(this.discovery, Backend)) this.register(backend.name, () => backend);
  }

  /** For the backends of Headrace. `create` is called at most once, and only when EXECUTOR names the backend. It may throw a SettingsError. */
  register(name: string, create: () => Backend): void {
    if (this.backends.has(name)) throw new Error(`The backend ${name} is registered twice.`);
    this.backends.set(name, create);
  }

  /** The backend that EXECUTOR names, known once all modules are initialized. */
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
