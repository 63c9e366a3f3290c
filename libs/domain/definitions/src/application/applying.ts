import type { Factory } from '#domain/factories';
import { fieldName } from '#platform/kernel';
import type { Diagnostic, FactoryDefinition, PlanEntry, ResourceKind, SourcePlaces } from '../domain/definition.js';
import type { DesiredState } from '../domain/desired-state.js';
import type { PresentState } from '../domain/present-state.js';
import { resourcePath } from '../domain/resource-paths.js';

/** A definition that was understood, beside what there is of its factory. */
export interface Applying {
  readonly factory: Factory;
  readonly definition: FactoryDefinition;
  readonly places: SourcePlaces;
  readonly desired: DesiredState;
  readonly present: PresentState;
  readonly plan: readonly PlanEntry[];
}

/** Names of the resources of this kind that are made or changed. */
export const touched = ({ plan }: Applying, kind: ResourceKind): string[] =>
  plan.flatMap((entry) =>
    entry.kind === kind && (entry.action === 'create' || entry.action === 'update') ? [entry.name] : [],
  );

/** A diagnostic at a value of the resource's file, or of the file around it. */
export function diagnosticAt(
  { places }: Pick<Applying, 'places'>,
  at: { readonly kind: ResourceKind; readonly name: string; readonly pointer: string },
  code: string,
  message: string,
): Diagnostic {
  const path = resourcePath(at.kind, at.name);
  return { code, path, ...places.at(path, at.pointer), message };
}

/** “`secretName` must be …”, for a detail that completes the sentence. Names are no fields: they are in the paths. */
export function sentence(pointer: string, detail: string): string {
  if (pointer === '') return `The file ${detail}.`;
  return pointer === '/name' ? `The name ${detail}.` : `\`${fieldName(pointer)}\` ${detail}.`;
}
