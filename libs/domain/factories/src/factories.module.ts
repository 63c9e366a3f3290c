import { Module } from '@nestjs/common';
import { FactoriesService } from './application/factories.service.js';
import { FactoriesStore } from './persistence/factories.store.js';

@Module({ providers: [FactoriesStore, FactoriesService], exports: [FactoriesService] })
export class FactoriesModule {}
