import 'reflect-metadata';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ModulesContainer, NestFactory, SerializedGraph } from '@nestjs/core';
import { expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { ApiModule } from '../../apps/api/src/app.module.js';
import { IngressModule } from '../../apps/ingress/src/ingress.module.js';
import { ProcessorModule } from '../../apps/processor/src/processor.module.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const INJECTED_BY_PLUGINS = ['PluginVariables'];

const nameOf = (token: unknown): string => (typeof token === 'function' ? token.name : String(token));

/** Classes that production code reads from a container with `get`. */
function readFromContainers(): string[] {
  const grep = ['grep', '-hoE', String.raw`\.get\([A-Z][A-Za-z]+\b`, '--', 'apps', 'libs', ':!*.spec.ts'];
  const lines = execFileSync('git', grep, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  return lines.map((line) => line.slice('.get('.length));
}

it('exports from modules only what another module injects or an app reads', async () => {
  const exported = new Map<string, string>();
  const used = new Set([...INJECTED_BY_PLUGINS, ...readFromContainers()]);
  for (const app of [ApiModule, IngressModule, ProcessorModule]) {
    // In preview Nest instantiates nothing, so no database is needed.
    const options = { preview: true, snapshot: true, logger: false, abortOnError: false } as const;
    const context = await NestFactory.createApplicationContext(app.of(parseSettings({})), options);
    for (const { metadata } of Object.values(context.get(SerializedGraph).toJSON().edges))
      if (metadata.type === 'class-to-class' && metadata.sourceModuleName !== metadata.targetModuleName)
        used.add(nameOf(metadata.targetClassToken));
    for (const { metatype, exports } of context.get(ModulesContainer).values())
      for (const token of exports) exported.set(nameOf(token), metatype.name);
  }
  const isOfNest = (module: string): boolean =>
    ['InternalCoreModule', 'BullModule', 'TypeOrmCoreModule'].includes(module);
  const unused = [...exported].filter(
    ([token, module]) => !used.has(token) && !token.endsWith('Module') && !isOfNest(module),
  );
  expect(exported.size).toBeGreaterThan(50);
  expect(unused).toEqual([]);
});
