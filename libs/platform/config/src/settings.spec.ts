import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseSettings } from './parse-settings.js';
import type { SettingDefinition } from './setting-kinds.js';
import { renderEnvExample, SETTINGS } from './settings.js';

const uncommented = renderEnvExample().replaceAll(/^#(?=[A-Z_]+=)/gm, '');

describe('.env.example', () => {
  it('lists every setting once, with its description and the format of its value', () => {
    for (const { env, description, kind } of Object.values<SettingDefinition<unknown>>(SETTINGS)) {
      expect(renderEnvExample().split(`# ${description}\n# ${kind.shape}\n#${env}=`), env).toHaveLength(2);
    }
  });

  it('shows the defaults, so that using it unchanged changes nothing', () => {
    expect(parseSettings(parseEnv(uncommented))).toEqual(parseSettings({}));
  });

  it('is the same on every machine', () => {
    expect(parseEnv(uncommented)).toMatchObject({
      MAX_CONCURRENT_RUNS: '',
      MAX_CONCURRENT_RUNS_PER_TEAM: '',
      MAX_IDLE_SESSIONS: '',
      LEASE_TTL: '90s',
    });
  });
});
