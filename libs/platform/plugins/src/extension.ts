import { applyDecorators, Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { extendsExtensionPoint } from '#platform/kernel';

const Marked = DiscoveryService.createDecorator<void>();
const markExtension = applyDecorators(Injectable(), Marked());

/**
 * Registers a provider at the extension point whose class it extends, such as `SignatureScheme` or `TriggerProvider`.
 * Includes `@Injectable()`. The provider may be in any module that the process loads.
 */
export const Extension = (): ClassDecorator => (target) => {
  if (!extendsExtensionPoint(target))
    throw new Error(`${target.name} has @Extension() and extends no extension point, such as SignatureScheme.`);
  markExtension(target);
};

type Point<T> = abstract new (...parameters: never[]) => T;

/** The extensions of an extension point. For `onModuleInit`, when all providers exist. */
export function extensionsOf<T>(discovery: DiscoveryService, point: Point<T>): T[] {
  const instances: unknown[] = marked(discovery).map(({ instance }: { readonly instance: unknown }) => instance);
  return [...new Set(instances.filter((instance): instance is T & object => instance instanceof point))];
}

/** Also while providers are being created. */
export const hasExtension = (discovery: DiscoveryService, point: Point<unknown>): boolean =>
  marked(discovery).some(({ metatype }) => typeof metatype === 'function' && metatype.prototype instanceof point);

const marked = (discovery: DiscoveryService) => discovery.getProviders({ metadataKey: Marked.KEY });
