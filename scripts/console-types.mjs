// Writes the types of the API for apps/console from openapi.json; a part of `npm run typecheck` and of `npm run lint`. The build does without them.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import { inRoot } from './lib/paths.mjs';

const file = inRoot('apps/console/src/api/schema.gen.ts');
const text = astToString(await openapiTS(JSON.parse(readFileSync(inRoot('openapi.json'), 'utf8'))));
if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
