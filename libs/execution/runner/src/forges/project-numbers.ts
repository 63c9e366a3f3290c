import { z } from 'zod';
import type { ForgeRef } from '#execution/runner-protocol';
import { ForgeApi, ForgeError } from './forge-api.js';

const PROJECT = z.object({ id: z.int() });
const TIMEOUT_MS = 20_000;

/** The numbers that GitLab uses in place of the paths of projects. */
export class ProjectNumbers<Project extends { readonly name: string }> {
  private readonly known = new Map<Project, Promise<number>>();

  constructor(
    private readonly forge: ForgeRef,
    private readonly tokenOf: (repository: Project) => Promise<string>,
  ) {}

  async find(name: string, repositories: readonly Project[]): Promise<Project | null> {
    if (this.forge.type !== 'gitlab' || !/^\d{1,15}$/.test(name)) return null;
    for (const repository of repositories) if ((await this.numberOf(repository)) === Number(name)) return repository;
    return null;
  }

  /** Null: GitLab does not say it now. */
  private async numberOf(repository: Project): Promise<number | null> {
    const asked = this.known.get(repository) ?? this.ask(repository);
    this.known.set(repository, asked);
    try {
      return await asked;
    } catch (error) {
      this.known.delete(repository);
      if (error instanceof ForgeError) return null;
      throw error;
    }
  }

  private async ask(repository: Project): Promise<number> {
    const api = new ForgeApi({ name: 'GitLab', url: this.forge.api_url, token: await this.tokenOf(repository) });
    const path = `/projects/${encodeURIComponent(repository.name)}`;
    return api.read(PROJECT, (await api.get(path, AbortSignal.timeout(TIMEOUT_MS))).body).id;
  }
}
