import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CreateFactory } from './application/create-factory.js';
import { FactoryAccess } from './application/factory-access.js';
import { FindFactory } from './application/find-factory.js';
import { ListFactories } from './application/list-factories.js';
import { LockFactory } from './application/lock-factory.js';
import { SearchFactories } from './application/search-factories.js';
import { UpdateFactory } from './application/update-factory.js';
import { FactoriesStore } from './persistence/factories.store.js';
import { FactoryRow } from './persistence/factory.entity.js';

const USE_CASES = [
  CreateFactory,
  FactoryAccess,
  FindFactory,
  ListFactories,
  SearchFactories,
  LockFactory,
  UpdateFactory,
];

@Module({
  imports: [TypeOrmModule.forFeature([FactoryRow])],
  providers: [FactoriesStore, ...USE_CASES],
  exports: USE_CASES,
})
export class FactoriesModule {}
