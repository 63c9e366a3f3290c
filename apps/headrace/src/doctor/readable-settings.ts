import { type Environment, parseSettings, type Settings, SettingsError } from '#platform/config';
import { settingsNamedIn } from './patient.js';

/** The settings with defaults for those that are wrong, so that everything else can be looked at. */
export function readableSettings(environment: Environment): { settings: Settings; faults: readonly string[] } {
  const faults: string[] = [];
  const left: Record<string, string | undefined> = { ...environment };
  for (;;) {
    try {
      return { settings: parseSettings(left), faults };
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      const wrong = error.problems.flatMap(settingsNamedIn).filter((name) => left[name] !== undefined);
      // A fault that no variable of the environment causes would come again for ever.
      if (wrong.length === 0) throw error;
      faults.push(...error.problems);
      for (const name of wrong) delete left[name];
    }
  }
}
