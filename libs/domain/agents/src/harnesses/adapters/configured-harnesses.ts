import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Settings, SettingsError } from '#platform/config';
import { HarnessesFileError, readHarnessesFile, STANDARD_HARNESSES } from '#execution/runner';
import type { HarnessDefinition } from '#execution/runner-protocol';

/** The agents that this installation knows beside the built-in one. A faulty harnesses file keeps it from starting. */
@Injectable()
export class ConfiguredHarnesses implements OnModuleInit {
  private own: Readonly<Record<string, HarnessDefinition>> = {};

  constructor(private readonly settings: Settings) {}

  /** Not in the constructor: a failure there leaves the other parts half open. */
  onModuleInit(): void {
    try {
      this.own = readHarnessesFile(this.settings.harnessesFile);
    } catch (error) {
      throw error instanceof HarnessesFileError ? new SettingsError([...error.problems]) : error;
    }
  }

  /** Those of the file, for runners. */
  get extra(): Record<string, HarnessDefinition> {
    return { ...this.own };
  }

  /** All of them by id, in the order of the table, those of the file last. */
  get all(): ReadonlyMap<string, HarnessDefinition> {
    return new Map(Object.entries({ ...STANDARD_HARNESSES, ...this.own }));
  }
}
