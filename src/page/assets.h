/* Style and script embedded in each page. The script sorts tables and shows values under
 * the pointer; pages are complete without it. */
#ifndef PAGE_ASSETS_H
#define PAGE_ASSETS_H

enum { PAGE_COLORS = 8 }; /* CSS classes c0 to c7 of curves; further curves repeat them */

extern const char page_style[], page_script[];

#endif
