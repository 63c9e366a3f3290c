import { describe, expect, it } from 'vitest';
import { forgesOf } from './forges.js';

const GITLAB = { type: 'gitlab', url: 'https://gitlab.com', api_url: 'https://gitlab.com/api/v4' };

describe('forgesOf', () => {
  it.each([
    ['https://github.com', undefined, 'https://api.github.com'],
    ['https://github.example', undefined, 'https://github.example/api/v3'],
    ['https://github.example', 'https://api.example/v3', 'https://api.example/v3'],
  ])('finds the API of %s with GITHUB_API_URL %s', (githubUrl, githubApiUrl, api) => {
    expect(forgesOf({ githubUrl, githubApiUrl, gitlabUrl: undefined })).toEqual([
      { type: 'github', url: githubUrl, api_url: api },
      GITLAB,
    ]);
  });

  it('has no GitHub when a directory replaces it, and another GitLab', () => {
    const settings = { githubUrl: '/srv/git', githubApiUrl: undefined, gitlabUrl: 'https://git.example/lab' };
    expect(forgesOf(settings)).toEqual([
      { type: 'gitlab', url: 'https://git.example/lab', api_url: 'https://git.example/lab/api/v4' },
    ]);
  });
});
