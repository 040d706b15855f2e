import { defineConfig } from 'vite';

// Shared memory requires a cross-origin isolated page.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  server: { headers },
  preview: { headers },
  worker: { format: 'es' },
  build: { outDir: '../../dist/playground', emptyOutDir: true, target: 'es2022' },
});
