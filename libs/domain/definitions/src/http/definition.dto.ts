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
  @BooleanField({ optional: true, description: 'true: only say what would be done. Default: false.' })
  dry_run?: boolean;
}

export class FactoryDefinitionChange {
  @EnumField(PLAN_ACTIONS, { name: 'FactoryDefinitionAction', description: 'What happens to the resource.' })
  action: PlanAction;
  @EnumField(RESOURCE_KINDS, { name: 'FactoryResourceKind', description: 'Kind of resource.' }) kind: ResourceKind;
  @StringField({ description: 'Of a skill, its path.', example: 'ci' }) name: string;
  @StringField({ optional: true, description: 'Of the file; what is deleted has none.' }) path?: string;
  @StringField({
    optional: true,
    description: 'Of what is there already, or was made. Skills have none, nor has what a dry run would make.',
  })
  uid?: string;
  @ArrayField(text(), {
    description:
      'Of an update, the fields that differ, by their names in files. `secretVersion`: the managed secret has a newer value, which the webhook takes over.',
  })
  changes: string[];
  @BooleanField({ description: 'Since the last apply it was changed, or deleted, by other ways than the files.' })
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
  @ObjectField(() => FactoryDefinitionSummary, { description: 'How many of which action.' })
  summary: FactoryDefinitionSummary;
}

export class FactoryDefinitionDiagnostic {
  @StringField({ description: 'Stable.', example: 'unknown_key' }) code: string;
  @StringField({ example: 'webhooks/ci.yaml', description: 'Path of the file within the definition.' }) path: string;
  @IntegerField({ min: 1, description: 'Line of the file, from 1.' }) line: number;
  @IntegerField({ min: 1, description: 'Column of the line, from 1.' }) column: number;
  @StringField({ description: 'For people.' }) message: string;
}

export class ValidateFactoryDefinitionResponse {
  @BooleanField({ description: 'Whether it could be applied at the moment.' }) valid: boolean;
  @ArrayField(object(() => FactoryDefinitionDiagnostic), {
    description: 'By path, line and column, 100 at most. Empty when it is valid.',
  })
  diagnostics: FactoryDefinitionDiagnostic[];
}

const schema = { schema: { type: 'object', additionalProperties: true } } as const;

export class FactoryFileSchemas {
  @JsonField({ ...schema, description: 'Of factory.yaml.' }) factory: object;
  @JsonField({ ...schema, description: 'Of webhooks/<name>.yaml.' }) webhook: object;
  @JsonField({ ...schema, description: 'Of the front matter of automations/<name>/automation.md.' }) automation: object;
  @JsonField({ ...schema, description: 'Of the front matter of agents/<name>/agent.md.' }) agent: object;
  @JsonField({ ...schema, description: 'Of the front matter of SKILL.md.' }) skill: object;
}

export class GetFactoryFileSchemasResponse {
  @StringField({ description: 'What `schemaVersion` in factory.yaml says.', example: 'v1alpha1' })
  schema_version: string;
  @ObjectField(() => FactoryFileSchemas, { description: 'JSON Schemas (2020-12), each complete by itself.' })
  schemas: FactoryFileSchemas;
}
