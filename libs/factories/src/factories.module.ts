import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CreateFactory } from './application/create-factory.js';
import { FindFactory } from './application/find-factory.js';
import { ListFactories } from './application/list-factories.js';
import { FactoryRow } from './persistence/factory.entity.js';

@Module({
  imports: [TypeOrmModule.forFeature([FactoryRow])],
  providers: [CreateFactory, FindFactory, ListFactories],
  exports: [CreateFactory, FindFactory, ListFactories],
})
export class FactoriesModule {}
