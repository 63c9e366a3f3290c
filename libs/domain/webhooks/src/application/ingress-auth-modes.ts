import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { extensionsOf } from '#platform/plugins';
import { IngressAuthMode } from '../domain/ingress-auth-mode.js';
import { AUTH_MODES } from '../domain/webhook.js';

const MODE = /^[a-z][a-z0-9_]{0,63}$/;

/** The modes of `auth_mode` that plugins add. */
@Injectable()
export class IngressAuthModes implements OnModuleInit {
  private readonly added = new Map<string, IngressAuthMode>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const extension of extensionsOf(this.discovery, IngressAuthMode)) {
      const { mode } = extension;
      if (!MODE.test(mode))
        throw new Error(`The ingress auth mode ${mode} must consist of lower-case letters, digits and underscores.`);
      if (this.names.includes(mode)) throw new Error(`There are two ingress auth modes ${mode}: remove one.`);
      this.added.set(mode, extension);
    }
  }

  /** All modes, those of Headrace first. */
  get names(): readonly string[] {
    return [...AUTH_MODES, ...this.added.keys()];
  }

  /** Null for a mode of Headrace, and for one that no plugin of this process adds. */
  find(mode: string): IngressAuthMode | null {
    return this.added.get(mode) ?? null;
  }
}
