import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { FactoryRow } from '../persistence/factory.entity.js';
import type { Factory } from './factory.js';

@Injectable()
export class FindFactory {
  constructor(@InjectRepository(FactoryRow) private readonly factories: Repository<FactoryRow>) {}

  execute(uid: string): Promise<Factory | null> {
    return this.factories.findOneBy({ uid });
  }
}
