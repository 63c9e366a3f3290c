import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { newUid } from '#platform/kernel';
import { sqlState, UNIQUE_VIOLATION } from '#platform/persistence';
import { FactoryRow } from '../persistence/factory.entity.js';
import type { Factory } from './factory.js';

export interface CreateFactoryCommand {
  readonly teamUid: string;
  readonly name: string;
  readonly description?: string;
  readonly alias?: string;
}

export type CreateFactoryResult =
  | { readonly kind: 'created'; readonly factory: Factory }
  | { readonly kind: 'alias_taken' }
  | { readonly kind: 'unknown_team' };

const FOREIGN_KEY_VIOLATION = '23503';

@Injectable()
export class CreateFactory {
  constructor(@InjectRepository(FactoryRow) private readonly factories: Repository<FactoryRow>) {}

  async execute({ teamUid, name, description, alias }: CreateFactoryCommand): Promise<CreateFactoryResult> {
    const uid = newUid();
    try {
      await this.factories.insert({ uid, teamUid, name, description: description ?? '', alias: alias ?? null });
    } catch (error) {
      if (sqlState(error) === UNIQUE_VIOLATION) return { kind: 'alias_taken' };
      if (sqlState(error) === FOREIGN_KEY_VIOLATION) return { kind: 'unknown_team' };
      throw error;
    }
    return { kind: 'created', factory: await this.factories.findOneByOrFail({ uid }) };
  }
}
