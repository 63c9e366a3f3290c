import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { DtoClass } from '../fields/read-dto.js';
import { OPERATION, type OperationOptions } from '../operations/operation.decorator.js';
import {
  ACCESS,
  type Access,
  AUDITED_ACTION,
  BODY_OPTIONS,
  type BodyOptions,
  OUTSIDE_PREFIX,
} from './route-options.js';

export const API_PREFIX = '/api/v1';

export interface Route {
  readonly method: string;
  /** With its prefix and `:parameters`. */
  readonly path: string;
  /** Served at the origin, not below the prefix of the API. */
  readonly outside: boolean;
  /** `Controller.method`, for messages. */
  readonly handler: string;
  readonly access: Access | undefined;
  readonly operation: OperationOptions | undefined;
  /** Under which the audit log records it; undefined: it does not. */
  readonly auditedAction: string | undefined;
  /** Whether the handler has a `@Body()`; otherwise no body is read. */
  readonly takesBody: boolean;
  readonly body: BodyOptions;
  /** The class of the `@Query()` of the handler. */
  readonly query: DtoClass | undefined;
}

export interface RouteMatch {
  readonly route: Route;
  /** Of the parameters of its path, as they were sent. */
  readonly values: readonly string[];
}

interface Node {
  readonly literals: Map<string, Node>;
  parameter?: Node;
  /** A trailing wildcard, which matches all remaining segments. */
  rest?: Node;
  readonly routes: Map<string, Route>;
}

const newNode = (): Node => ({ literals: new Map(), routes: new Map() });

/** Read from the metadata of the controllers: for the edge, 405 with Allow, and the audit test. */
export class RouteTable {
  readonly routes: readonly Route[];
  private readonly root = newNode();

  constructor(modules: ModulesContainer) {
    const controllers = new Set<Type<unknown>>();
    for (const module of modules.values()) {
      for (const { metatype } of module.controllers.values()) {
        if (typeof metatype === 'function') controllers.add(metatype as Type<unknown>);
      }
    }
    this.routes = [...controllers].flatMap(routesOf);
    for (const route of this.routes) this.insert(route);
  }

  /** The route of a request, or undefined; the GET route serves HEAD. */
  match(method: string, path: string): Route | undefined {
    return this.find(method, path)?.route;
  }

  find(method: string, path: string): RouteMatch | undefined {
    const values: string[] = [];
    const route = findRoute(this.root, method === 'HEAD' ? 'GET' : method, segmentsOf(path), 0, values);
    return route && { route, values };
  }

  /** The allowed methods of a path, sorted; empty for an unknown path. */
  methodsOf(path: string): string[] {
    const methods = new Set(this.routes.map(({ method }) => method));
    return [...methods, 'HEAD'].filter((method) => this.match(method, path) !== undefined).sort();
  }

  private insert(route: Route): void {
    let node = this.root;
    for (const segment of segmentsOf(route.path)) {
      if (segment.startsWith(':')) node = node.parameter ??= newNode();
      else if (segment.startsWith('*')) node = node.rest ??= newNode();
      else {
        const next = node.literals.get(segment) ?? newNode();
        node.literals.set(segment, next);
        node = next;
      }
    }
    node.routes.set(route.method, route);
  }
}

/** Literals before parameters before wildcards. Appends the values of the parameters to `values`. */
function findRoute(
  node: Node,
  method: string,
  segments: readonly string[],
  index: number,
  values: string[],
): Route | undefined {
  const segment = segments[index];
  if (segment === undefined) return node.routes.get(method) ?? node.routes.get('ALL');
  const literal = node.literals.get(segment);
  const found = literal && findRoute(literal, method, segments, index + 1, values);
  if (found) return found;
  if (node.parameter && segment !== '') {
    values.push(segment);
    const below = findRoute(node.parameter, method, segments, index + 1, values);
    if (below) return below;
    values.pop();
  }
  return node.rest?.routes.get(method) ?? node.rest?.routes.get('ALL');
}

function segmentsOf(path: string): string[] {
  const trimmed = path.replace(/^\//, '').replace(/\/$/, '');
  return trimmed === '' ? [] : trimmed.split('/');
}

function routesOf(controller: Type<unknown>): Route[] {
  const outside = Reflect.getMetadata(OUTSIDE_PREFIX, controller) === true;
  const prototype = controller.prototype as Record<string, unknown>;
  return new MetadataScanner().getAllMethodNames(prototype).flatMap((name) => {
    const handler = prototype[name] as object;
    const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
    if (method === undefined) return [];
    const declared = <T>(key: symbol): T | undefined =>
      (Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller)) as T | undefined;
    return pathsOf(controller).flatMap((base) =>
      pathsOf(handler).map((tail): Route => {
        const relative = [base, tail].flatMap(segmentsOf).join('/');
        return {
          method: RequestMethod[method],
          path: outside ? `/${relative}` : `${API_PREFIX}/${relative}`,
          outside,
          handler: `${controller.name}.${name}`,
          access: declared<Access>(ACCESS),
          operation: declared<OperationOptions>(OPERATION),
          auditedAction: declared<string>(AUDITED_ACTION),
          takesBody: parameterIndex(controller, name, RouteParamtypes.BODY) !== undefined,
          body: declared<BodyOptions>(BODY_OPTIONS) ?? {},
          query: queryClass(controller, name),
        };
      }),
    );
  });
}

function pathsOf(target: object): string[] {
  const path = Reflect.getMetadata(PATH_METADATA, target) as string | string[] | undefined;
  return path === undefined ? [''] : [path].flat();
}

/** Nest stores the parameters of a handler under keys of the form `kind:position`. */
function parameterIndex(controller: Type<unknown>, method: string, kind: RouteParamtypes): number | undefined {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ?? {}) as Record<string, unknown>;
  const key = Object.keys(parameters).find((one) => one.startsWith(`${kind}:`));
  return key === undefined ? undefined : Number(key.slice(key.indexOf(':') + 1));
}

function queryClass(controller: Type<unknown>, method: string): DtoClass | undefined {
  const index = parameterIndex(controller, method, RouteParamtypes.QUERY);
  const types = Reflect.getMetadata('design:paramtypes', controller.prototype as object, method) as DtoClass[];
  return index === undefined ? undefined : types[index];
}
