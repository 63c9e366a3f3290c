import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { Caller } from '#platform/auth';
import { Settings, SettingsError } from '#platform/config';
import {
  BUILTIN_HARNESS,
  HarnessesFileError,
  parseHarness,
  readHarnessesFile,
  STANDARD_HARNESSES,
} from '#execution/runner';
import type { HarnessDefinition } from '#execution/runner-protocol';
import { extensionsOf } from '#platform/plugins';
import { Harness } from '../domain/harness.js';
import { HarnessInstallationsStore } from '../persistence/harness-installations.store.js';

/** The agents that this installation knows beside the built-in one. A faulty harnesses file keeps it from starting. */
@Injectable()
export class ConfiguredHarnesses implements OnModuleInit {
  private own: Readonly<Record<string, HarnessDefinition>> = {};

  constructor(
    private readonly settings: Settings,
    private readonly installations: HarnessInstallationsStore,
    private readonly discovery: DiscoveryService,
  ) {}

  /** Not in the constructor: a failure there leaves the other parts half open. */
  onModuleInit(): void {
    try {
      this.own = { ...this.ofPlugins(), ...readHarnessesFile(this.settings.harnessesFile) };
    } catch (error) {
      throw error instanceof HarnessesFileError ? new SettingsError([...error.problems]) : error;
    }
  }

  private ofPlugins(): Record<string, HarnessDefinition> {
    const harnesses: Record<string, HarnessDefinition> = {};
    for (const { id, definition } of extensionsOf(this.discovery, Harness)) {
      if (Object.hasOwn({ ...STANDARD_HARNESSES, ...harnesses }, id))
        throw new Error(`There are two harnesses with the id ${id}: remove one.`);
      harnesses[id] = parseHarness(id, definition);
    }
    return harnesses;
  }

  /** Those of plugins and of the file, which has priority, for runners. */
  get extra(): Record<string, HarnessDefinition> {
    return { ...this.own };
  }

  /** All of them by id, in the order of the table, those of plugins and of the file last. */
  get all(): ReadonlyMap<string, HarnessDefinition> {
    return new Map(Object.entries({ ...STANDARD_HARNESSES, ...this.own }));
  }

  /** Whether the agent is known to request permission before it acts, where the policy of its run is not `allow`. */
  requestsPermission(id: string): boolean {
    const { permission_modes: modes, permission_env: env } = this.all.get(id) ?? {};
    return id === BUILTIN_HARNESS || modes?.ask !== undefined || env !== undefined;
  }

  /** The built-in agent first, then the table of this installation, then what only workers know. */
  async list({ principal, teamUid }: Caller) {
    const teams = teamUid === null ? principal.memberships.map((membership) => membership.teamUid) : [teamUid];
    const found = await this.installations.list(teams);
    const known = this.all;
    const ids = new Set([...known.keys(), ...found.map(({ id }) => id)]);
    ids.delete(BUILTIN_HARNESS);
    const others = [...ids].map((id) => {
      const installations = found.filter((installation) => installation.id === id);
      const reported = installations.find(({ installHint }) => installHint !== null)?.installHint ?? null;
      return { id, installHint: known.get(id)?.install_hint ?? reported, isBuiltin: false, installations };
    });
    return [{ id: BUILTIN_HARNESS, installHint: null, isBuiltin: true, installations: [] }, ...others];
  }
}
