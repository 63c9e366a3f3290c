import {
  ArrayField,
  BooleanField,
  EnumField,
  IntegerField,
  JsonField,
  object,
  ObjectField,
  StringField,
  text,
} from '#platform/http';
import { PLAN_ACTIONS, type PlanAction, RESOURCE_KINDS, type ResourceKind } from '../domain/definition.js';

export class FactoryDefinitionFile {
  @StringField({ description: 'Relative to the definition, with `/`.', example: 'webhooks/ci.yaml' }) path: string;
  @StringField({ description: 'Text, at most 262,144 bytes in UTF-8.' }) content: string;
}

export class FactoryDefinitionFiles {
  @ArrayField(object(() => FactoryDefinitionFile), { description: 'All files of the definition, at most 256.' })
  files: FactoryDefinitionFile[];
}

export class ApplyFactoryDefinitionParameters {
  @BooleanField({ optional: true, description: 'true: only return the plan and change nothing. Default: false.' })
  dry_run?: boolean;
}

export class FactoryDefinitionChange {
  @EnumField(PLAN_ACTIONS, { name: 'FactoryDefinitionAction', description: 'What happens to the resource.' })
  action: PlanAction;
  @EnumField(RESOURCE_KINDS, { name: 'FactoryResourceKind', description: 'Kind of resource.' }) kind: ResourceKind;
  @StringField({ description: 'Name of the resource; for a skill, its path.', example: 'ci' }) name: string;
  @StringField({ optional: true, description: 'Path of the file. Absent for a resource that is deleted.' })
  path?: string;
  @StringField({
    optional: true,
    description:
      'UID of a resource that exists or was created. Absent for skills, and for resources that a dry run would create.',
  })
  uid?: string;
  @ArrayField(text(), {
    description:
      'The fields that an update changes, by their names in files. `secretVersion`: the managed secret has a newer value, which the webhook receives.',
  })
  changes: string[];
  @BooleanField({
    description: 'Whether the resource was changed or deleted outside of the files since the last apply.',
  })
  drifted: boolean;
}

export class FactoryDefinitionSummary {
  @IntegerField({ min: 0, description: 'Number of resources to create.' }) create: number;
  @IntegerField({ min: 0, description: 'Number of resources to update.' }) update: number;
  @IntegerField({ min: 0, description: 'Number of resources to delete.' }) delete: number;
  @IntegerField({ min: 0, description: 'Number of resources that stay as they are.' }) unchanged: number;
}

export class ApplyFactoryDefinitionResponse {
  @BooleanField({ description: 'false for a dry run.' }) applied: boolean;
  @ArrayField(object(() => FactoryDefinitionChange), {
    description: 'The factory, then webhooks, agents, automations and skills, each by their names.',
  })
  plan: FactoryDefinitionChange[];
  @ObjectField(() => FactoryDefinitionSummary, { description: 'Number of resources for each action.' })
  summary: FactoryDefinitionSummary;
}

export class FactoryDefinitionDiagnostic {
  @StringField({ description: 'Stable code of the diagnostic.', example: 'unknown_key' }) code: string;
  @StringField({ example: 'webhooks/ci.yaml', description: 'Path of the file within the definition.' }) path: string;
  @IntegerField({ min: 1, description: 'Line of the file, from 1.' }) line: number;
  @IntegerField({ min: 1, description: 'Column of the line, from 1.' }) column: number;
  @StringField({ description: 'Text for people.' }) message: string;
}

export class ValidateFactoryDefinitionResponse {
  @BooleanField({ description: 'Whether it could be applied at the moment.' }) valid: boolean;
  @ArrayField(object(() => FactoryDefinitionDiagnostic), {
    description: 'The diagnostics, sorted by path, line and column, at most 100. Empty when the definition is valid.',
  })
  diagnostics: FactoryDefinitionDiagnostic[];
}

const schema = { schema: { type: 'object', additionalProperties: true } } as const;

export class FactoryFileSchemas {
  @JsonField({ ...schema, description: 'Schema of factory.yaml.' }) factory: object;
  @JsonField({ ...schema, description: 'Schema of webhooks/<name>.yaml.' }) webhook: object;
  @JsonField({ ...schema, description: 'Schema of the front matter of automations/<name>/automation.md.' })
  automation: object;
  @JsonField({ ...schema, description: 'Schema of the front matter of agents/<name>/agent.md.' }) agent: object;
  @JsonField({ ...schema, description: 'Schema of the front matter of SKILL.md.' }) skill: object;
}

export class GetFactoryFileSchemasResponse {
  @StringField({ description: 'Value of `schemaVersion` in factory.yaml.', example: 'v1alpha1' })
  schema_version: string;
  @ObjectField(() => FactoryFileSchemas, { description: 'JSON Schemas (2020-12), each complete by itself.' })
  schemas: FactoryFileSchemas;
  @JsonField({
    ...schema,
    description: 'The same schemas, by the name under which each can be read by itself, such as `factory.schema.json`.',
  })
  documents: object;
}

export class FactoryFileSchemaVersion {
  @StringField({ description: 'Value of `schemaVersion` in factory.yaml.', example: 'v1alpha1' })
  schema_version: string;
  @StringField({ description: 'Path of its schemas at the origin of this API.' }) schema_url: string;
}

export class ListFactoryFileSchemasResponse {
  @StringField({ description: 'The version of new definitions.', example: 'v1alpha1' }) current_version: string;
  @ArrayField(object(() => FactoryFileSchemaVersion), { description: 'All versions, oldest first.' })
  versions: FactoryFileSchemaVersion[];
}

const CHECKED = ['checked', 'not_run'] as const;

export class FactoryFilesValidationScope {
  @EnumField(CHECKED, { description: 'Whether the files were read.' }) parser: (typeof CHECKED)[number];
  @EnumField(CHECKED, { description: 'Whether rules that need no factory were checked.' })
  state_independent: (typeof CHECKED)[number];
  @EnumField(['not_checked'], { description: 'Rules that depend on a factory are never checked here.' })
  state_dependent: 'not_checked';
}

export class ValidateFactoryFilesResponse {
  @BooleanField({ description: 'Whether the files have no diagnostic. An apply can still find others.' })
  valid: boolean;
  @StringField({ description: 'The version of the definition.', example: 'v1alpha1' }) schema_version: string;
  @ArrayField(object(() => FactoryDefinitionDiagnostic), {
    description: 'The diagnostics, sorted by path, line and column, at most 100. Empty when the files are valid.',
  })
  diagnostics: FactoryDefinitionDiagnostic[];
  @JsonField({
    schema: { type: 'array', items: { type: 'object', additionalProperties: true } } as never,
    description: 'Names that only an apply resolves. Always empty: definitions of Headrace have none.',
  })
  deferred_resolutions: object[];
  @ArrayField(text(), { description: 'The checks that need a factory, which only its own validate operation makes.' })
  state_dependent_checks_not_run: string[];
  @ObjectField(() => FactoryFilesValidationScope, { description: 'What was checked.' })
  validation_scope: FactoryFilesValidationScope;
}
