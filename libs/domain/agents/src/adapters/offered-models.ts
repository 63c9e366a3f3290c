import { readFileSync } from 'node:fs';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { z } from 'zod';
import { Settings, SettingsError } from '#platform/config';
import { fieldName, pointerOf } from '#platform/kernel';
import { MODEL_PROVIDERS, ModelCatalogue } from '../domain/model-catalogue.js';

/** The catalogue of this installation. A faulty MODELS_FILE keeps the application from starting. */
@Injectable()
export class OfferedModels implements OnModuleInit {
  private known = new ModelCatalogue();

  constructor(private readonly settings: Settings) {}

  /** Not in the constructor: a failure there leaves the other parts half open. */
  onModuleInit(): void {
    this.known = readModelsFile(this.settings.modelsFile);
  }

  get catalogue(): ModelCatalogue {
    return this.known;
  }
}

const text = z.string().trim().min(1).max(256);
const modelsFile = z.strictObject({
  models: z
    .array(
      z.strictObject({
        id: text,
        display_name: text,
        provider: z.enum(MODEL_PROVIDERS),
        vision_supported: z.boolean(),
      }),
    )
    .min(1)
    .max(1000)
    .superRefine((models, context) => {
      const first = new Map<string, number>();
      for (const [index, { id }] of models.entries()) {
        const earlier = first.get(id);
        if (earlier === undefined) first.set(id, index);
        else context.addIssue({ code: 'custom', path: [index, 'id'], message: `is that of models[${earlier}] too` });
      }
    }),
});

/** The built-in catalogue when the path is empty. Throws a SettingsError that lists every fault of the file. */
export function readModelsFile(path: string): ModelCatalogue {
  if (path === '') return new ModelCatalogue();
  const result = modelsFile.safeParse(parseFile(path));
  if (result.success) return new ModelCatalogue(result.data.models);
  throw new SettingsError(
    result.error.issues.map(({ path: place, message }) => {
      const name = fieldName(pointerOf(...place.map(String))) || 'the file';
      return `MODELS_FILE, ${name}: ${message}.`;
    }),
  );
}

function parseFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SettingsError([`MODELS_FILE cannot be read as JSON (${reason}).`]);
  }
}
