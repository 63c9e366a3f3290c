import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Processes first: while their tests wait, the ones that compute fill the processors, down to the shortest at the end. */
const ORDER = ['e2e', 'app'];

/**
 * The order in which files are started. Within a project it is Vitest's own: what took long the last time, or else is
 * large, comes first. Projects stay together, since files that share a process must follow each other.
 */
export class StartOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => rank(one) - rank(other));
  }
}

const rank = ({ project }: TestSpecification): number => {
  const place = ORDER.indexOf(project.name);
  return place === -1 ? ORDER.length : place;
};
