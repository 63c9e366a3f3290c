import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { clockProvider } from './movable-clock.js';

/** What every room of a process may ask for: its settings, and the time. */
@Global()
@Module({})
export class SurroundingsModule {
  static of(settings: Settings): DynamicModule {
    return {
      module: SurroundingsModule,
      providers: [{ provide: Settings, useValue: settings }, clockProvider],
      exports: [Settings, Clock],
    };
  }
}
