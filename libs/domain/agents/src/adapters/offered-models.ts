import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Settings } from '#platform/config';
import { ModelCatalogue } from '../domain/model-catalogue.js';
import { readModelsFile } from './read-models-file.js';

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
