import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { FactoryRow } from '../persistence/factory.entity.js';
import type { Factory } from './factory.js';

/** Factories of all teams, oldest first, for the command line. */
@Injectable()
export class ListFactories {
  constructor(@InjectRepository(FactoryRow) private readonly factories: Repository<FactoryRow>) {}

  execute(limit: number): Promise<Factory[]> {
    return this.factories.find({ order: { createdAt: 'ASC', uid: 'ASC' }, take: limit });
  }
}
