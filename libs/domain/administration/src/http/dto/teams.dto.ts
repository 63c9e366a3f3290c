import {
  ArrayField,
  BooleanField,
  DateTimeField,
  IntegerField,
  object,
  ObjectField,
  PageInfo,
  StringField,
} from '#platform/http';
import { PageParameters } from './principals.dto.js';

const OPTIONAL = { optional: true } as const;
const UID = { pattern: /^[A-Za-z0-9]{22}$/, says: 'exactly 22 letters or digits' } as const;
const NAME = { blank: false, max: 200, description: 'Name of the team.', example: 'Payments' } as const;
const MAX_RUNS = {
  ...OPTIONAL,
  nullable: true,
  min: 1,
  max: 999_999,
  description:
    'Maximum number of hosted runs that execute concurrently; null: the limit of the installation. Only administrators of the installation can set it.',
} as const;

export class TeamFeatures {
  @BooleanField({ ...OPTIONAL, description: 'Whether runs can be filtered by metadata.' }) metadata_filter?: boolean;
  @BooleanField({ ...OPTIONAL, description: 'Whether the team can use schedules.' }) schedules?: boolean;
}

export class CreateTeamRequest {
  @StringField(NAME) name: string;
  @StringField({ ...OPTIONAL, ...UID, description: 'User who becomes the owner. Default: you.' }) owner_uid?: string;
  @IntegerField(MAX_RUNS) max_concurrent_runs?: number | null;
}

export class UpdateTeamRequest {
  @StringField({ ...NAME, ...OPTIONAL }) name?: string;
  @IntegerField(MAX_RUNS) max_concurrent_runs?: number | null;
  @StringField({ ...OPTIONAL, nullable: true, blank: false, max: 256, description: 'Model of runs that name none.' })
  default_model_id?: string | null;
  @StringField({
    ...OPTIONAL,
    nullable: true,
    blank: false,
    max: 256,
    description: 'Worker host of runs that name none; null: hosted workers.',
  })
  default_worker_host?: string | null;
  @ObjectField(() => TeamFeatures, { ...OPTIONAL, description: 'Features of the team.' }) features?: TeamFeatures;
}

export class TeamItem {
  @StringField({ ...UID, description: 'UID of the team.' }) uid: string;
  @StringField({ description: 'Name of the team.' }) name: string;
  @IntegerField({ nullable: true, description: 'Maximum number of hosted runs that execute concurrently.' })
  max_concurrent_runs: number | null;
  @StringField({ nullable: true, description: 'Model of runs that name none.' }) default_model_id: string | null;
  @StringField({ nullable: true, description: 'Worker host of runs that name none.' }) default_worker_host:
    | string
    | null;
  @ObjectField(() => TeamFeatures, { description: 'Features of the team.' }) features: TeamFeatures;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
}

export class ListTeamsParameters extends PageParameters {
  @BooleanField({
    ...OPTIONAL,
    description: 'All teams of the installation, for its administrators. Default: your teams.',
  })
  all?: boolean;
}

export class ListTeamsResponse {
  @ArrayField(object(() => TeamItem), { description: 'The teams, by name.' }) teams: TeamItem[];
  @ObjectField(() => PageInfo, { description: 'Position in the list.' }) page_info: PageInfo;
}
