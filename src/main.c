#include <stdio.h>

int main(void)
{
    puts("trainc");
    return 0;
}
