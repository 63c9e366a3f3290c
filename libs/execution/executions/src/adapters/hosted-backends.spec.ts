import { describe, expect, it } from 'vitest';
import { runnerAddressProblem } from './hosted-backends.js';

const problemOf = (runnerApiUrl: string): string | null => runnerAddressProblem({ runnerApiUrl, port: 3000 });

describe('runnerAddressProblem', () => {
  it.each([
    'http://127.0.0.1:3000',
    'http://127.1.2.3',
    'http://localhost:3000',
    'http://api.localhost',
    'http://[::1]:3000',
    'http://0.0.0.0:3000',
  ])('refuses %s', (url) => {
    expect(problemOf(url)).toContain(`RUNNER_API_URL is ${url}`);
    expect(problemOf(url)).toContain('http://host.docker.internal:3000');
  });

  it.each([
    'http://host.docker.internal:3000',
    'https://headrace.example.com/x',
    'http://172.17.0.1:3000',
    'http://[fd00::1]',
  ])('takes %s', (url) => {
    expect(problemOf(url)).toBeNull();
  });
});
