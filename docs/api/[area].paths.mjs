import { apiPages } from '../.vitepress/api-reference.mjs';

export default { paths: apiPages, watch: ['../../openapi.json'] };
