import { describe, expect, it } from 'vitest';
import { findMisspeltSettings } from './misspelt-settings.js';

describe('findMisspeltSettings', () => {
  it.each([
    ['MAX_CONCURENT_RUNS', 'MAX_CONCURRENT_RUNS'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['INGRES_PORT', 'INGRESS_PORT'],
    ['log_level', 'LOG_LEVEL'],
  ])('finds that %s is meant to be %s', (given, meant) => {
    expect(findMisspeltSettings({ [given]: '1' })).toEqual([{ given, meant }]);
  });

  it.each([
    'HOME',
    'PATH',
    'MAX_CONCURRENT_RUNS',
    'HTTP_PROXY',
    'SSL_CERT_FILE',
    'NODE_OPTIONS',
    'INGRESS_PORT_80_TCP',
    'XDG_CONFIG_HOME',
  ])('ignores %s', (name) => {
    expect(findMisspeltSettings({ [name]: '1' })).toEqual([]);
  });
});
