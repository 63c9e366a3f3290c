import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { renderEnvExample } from './env-example.js';
import { parseSettings } from './parse-settings.js';
import { SETTINGS, type SettingDefinition } from './settings.js';

const uncommented = renderEnvExample().replaceAll(/^#(?=[A-Z_]+=)/gm, '');

describe('.env.example', () => {
  it('names every setting once, with its meaning and the shape of its value', () => {
    for (const { env, doc, kind } of Object.values<SettingDefinition<unknown>>(SETTINGS)) {
      expect(renderEnvExample().split(`# ${doc}\n# ${kind.shape}\n#${env}=`), env).toHaveLength(2);
    }
  });

  it('shows the defaults: used as it is, it changes nothing', () => {
    expect(parseSettings(parseEnv(uncommented))).toEqual(parseSettings({}));
  });

  it('says the same on every machine', () => {
    expect(parseEnv(uncommented)).toMatchObject({
      MAX_CONCURRENT_RUNS: '',
      MAX_CONCURRENT_RUNS_PER_TEAM: '',
      MAX_IDLE_SESSIONS: '',
      LEASE_TTL: '90s',
    });
  });
});
