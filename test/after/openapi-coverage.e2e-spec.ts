import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import { describe, expect, it } from 'vitest';
import { uncoveredStatuses } from '#testing';

const document = JSON.parse(readFileSync('openapi.json', 'utf8')) as OpenAPIObject;

/** Set by test/global-setup.ts when the tests of this run note their exchanges. */
const directory = process.env.HEADRACE_EXCHANGES_DIR;

describe('operation coverage', () => {
  // Runs after all other files (see vitest.config.ts). Alone it has nothing to look at.
  it.skipIf(directory === undefined)(
    'every documented status of every operation was seen by some test of this run',
    () => {
      const exchanges = readdirSync(directory ?? '').flatMap((file) =>
        readFileSync(join(directory ?? '', file), 'utf8').split('\n'),
      );
      expect(uncoveredStatuses(document, exchanges)).toEqual([]);
    },
  );

  it('notices a status that was not seen', () => {
    const all = uncoveredStatuses(document, []);
    expect(all).toContain('GET /environments/{uid} 403');
    expect(all).not.toContain('GET /environments/{uid} 401');
    const rest = uncoveredStatuses(document, [
      'GET /environments/abc 403',
      'GET /api/v1/agent/environments 200',
      'GET /health/live 200',
    ]);
    expect(all.filter((line) => !rest.includes(line))).toEqual([
      'GET /agent/environments 200',
      'GET /environments/{uid} 403',
    ]);
  });
});
